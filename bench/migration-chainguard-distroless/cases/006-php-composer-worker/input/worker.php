<?php

require __DIR__ . '/vendor/autoload.php';

(new Mailer\Worker(getenv('QUEUE_URL')))->run();
