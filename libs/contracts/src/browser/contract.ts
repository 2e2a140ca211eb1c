import { defineContract } from '../definition/define.ts';
import { browserMethods } from './browser.ts';

export const browser = defineContract({
  service: 'browser',
  methods: { ...browserMethods },
  operations: {},
  events: {},
});
