import { defineContract } from '../definition/define.ts';
import { toolsEvents } from './events.ts';
import { mcpMethods } from './mcp.ts';
import { toolsOperations } from './operations.ts';
import { skillsMethods } from './skills.ts';

export const tools = defineContract({
  service: 'tools',
  methods: { ...mcpMethods, ...skillsMethods },
  operations: toolsOperations,
  events: toolsEvents,
});
