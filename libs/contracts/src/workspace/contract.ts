import { defineContract } from '../definition/define.ts';
import { fileOperations } from './files.ts';
import { workspaceMethods } from './workspace.ts';

export const workspace = defineContract({
  service: 'workspace',
  methods: { ...workspaceMethods },
  operations: fileOperations,
  events: {},
});
