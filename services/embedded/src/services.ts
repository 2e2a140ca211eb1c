import { memory } from '@switchyard/memory';
import { graph } from '@switchyard/graph';
import { media } from '@switchyard/media';
import { observability } from '@switchyard/observability';
import { browser } from '@switchyard/browser';
import { registry } from '@switchyard/registry';
import { scheduler } from '@switchyard/scheduler';
import { secrets } from '@switchyard/secrets';
import type { AnyService } from '@switchyard/service-kit';
import { sessions } from '@switchyard/sessions';
import { tools } from '@switchyard/tools';

/** The services behind the gateway, in start order. */
export const services: readonly AnyService[] = [
  secrets, // first, because the others need keys
  registry,
  sessions,
  memory,
  scheduler,
  graph,
  media,
  observability,
  browser,
  tools,
];
