<?php

namespace Mailer;

final class Worker
{
    public function __construct(private string $queue)
    {
    }

    public function run(): void
    {
        $client = new \Predis\Client($this->queue);
        while ($job = $client->blpop(['mail'], 0)) {
            fwrite(STDERR, "sending {$job[1]}\n");
        }
    }
}
