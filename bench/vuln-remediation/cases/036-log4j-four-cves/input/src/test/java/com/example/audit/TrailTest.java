package com.example.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class TrailTest {
    @Test
    void namesAreLowerCase() {
        assertEquals("ada signed in", Trail.line("Ada", "signed in"));
    }
}
