package com.example.badge;

import org.apache.commons.text.WordUtils;

/** The text on a badge. */
public final class Badge {
    private Badge() {}

    public static String of(String name) {
        return WordUtils.capitalizeFully(name.strip());
    }
}
