import { defineContract } from '../define.ts';
import { envMethods } from './env.ts';
import { secretsEvents } from './events.ts';
import { secretsOperations } from './operations.ts';
import { tokensMethods } from './tokens.ts';

export const secrets = defineContract({
  service: 'secrets',
  methods: { ...tokensMethods, ...envMethods },
  operations: secretsOperations,
  events: secretsEvents,
});
