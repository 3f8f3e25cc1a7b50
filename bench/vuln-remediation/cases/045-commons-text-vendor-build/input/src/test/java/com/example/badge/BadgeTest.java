package com.example.badge;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class BadgeTest {
    @Test
    void namesAreCapitalised() {
        assertEquals("Ada Lovelace", Badge.of(" ada LOVELACE "));
    }
}
