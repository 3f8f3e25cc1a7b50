package com.example.audit;

import java.util.Locale;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Writes who did what. */
public final class Trail {
    private static final Logger LOG = LogManager.getLogger(Trail.class);

    private Trail() {}

    /** The line that is written. */
    public static String line(String who, String what) {
        return who.toLowerCase(Locale.ROOT) + " " + what;
    }

    public static void record(String who, String what) {
        LOG.info("{}", line(who, what));
    }
}
