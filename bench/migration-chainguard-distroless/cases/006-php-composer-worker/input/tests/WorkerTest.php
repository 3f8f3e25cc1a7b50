<?php

use PHPUnit\Framework\TestCase;

final class WorkerTest extends TestCase
{
    public function testExists(): void
    {
        $this->assertTrue(class_exists(Mailer\Worker::class));
    }
}
