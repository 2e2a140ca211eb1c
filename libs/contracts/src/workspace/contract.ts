import { defineContract } from '../definition/define.ts';
import { workspaceMethods } from './workspace.ts';

export const workspace = defineContract({
  service: 'workspace',
  methods: { ...workspaceMethods },
  operations: {},
  events: {},
});
