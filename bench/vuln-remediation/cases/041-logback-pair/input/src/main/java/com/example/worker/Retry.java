package com.example.worker;

/** When a job is tried again. */
public final class Retry {
    private Retry() {}

    public static boolean again(int attempts, boolean permanent) {
        return !permanent && attempts < 5;
    }
}
