import { defineContract } from '../define.ts';
import { secretsOperations } from './operations.ts';

export const secrets = defineContract({
  service: 'secrets',
  methods: {},
  operations: secretsOperations,
  events: {},
});
