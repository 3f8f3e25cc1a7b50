package com.example.worker;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class RetryTest {
    @Test
    void aPermanentFailureIsNotTriedAgain() {
        assertFalse(Retry.again(0, true));
        assertTrue(Retry.again(4, false));
    }
}
