import { memory } from '@switchyard/memory';
import { registry } from '@switchyard/registry';
import { secrets } from '@switchyard/secrets';
import type { AnyService } from '@switchyard/service-kit';
import { sessions } from '@switchyard/sessions';

/** The services behind the edge, in the order in which they start. */
export const services: readonly AnyService[] = [
  secrets, // first: the others ask it for keys
  registry,
  sessions,
  memory,
];
