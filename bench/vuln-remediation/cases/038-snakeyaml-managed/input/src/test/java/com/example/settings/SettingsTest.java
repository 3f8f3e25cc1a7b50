package com.example.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class SettingsTest {
    @Test
    void aTimeoutHasADefault() {
        assertEquals(Duration.ofSeconds(30), Settings.timeout(null));
    }

    @Test
    void aTimeoutIsShort() {
        assertEquals(Duration.ofMillis(1500), Settings.timeout("1.5s"));
    }
}
