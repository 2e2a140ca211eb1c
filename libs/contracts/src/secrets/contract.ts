import { defineContract } from '../definition/define.ts';
import { auditOperations } from './audit.ts';
import { envMethods } from './env.ts';
import { secretsEvents } from './events.ts';
import { secretsOperations } from './operations.ts';
import { tokenStandingOperations } from './token-standing.ts';
import { tokensMethods } from './tokens.ts';

export const secrets = defineContract({
  service: 'secrets',
  methods: { ...tokensMethods, ...envMethods },
  operations: { ...secretsOperations, ...auditOperations, ...tokenStandingOperations },
  events: secretsEvents,
});
