import { defineContract } from '../definition/define.ts';
import { browserMethods } from './browser.ts';
import { browserOperations } from './operations.ts';

export const browser = defineContract({
  service: 'browser',
  methods: { ...browserMethods },
  operations: { ...browserOperations },
  events: {},
});
