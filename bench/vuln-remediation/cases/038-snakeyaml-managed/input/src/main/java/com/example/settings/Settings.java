package com.example.settings;

import io.acme.config.LayeredConfig;
import java.time.Duration;

/** What can be set from outside. */
public record Settings(Duration timeout) {
    public static Settings from(LayeredConfig config) {
        return new Settings(timeout(config.text("timeout")));
    }

    static Duration timeout(String text) {
        return text == null ? Duration.ofSeconds(30) : Duration.parse("PT" + text.toUpperCase());
    }
}
