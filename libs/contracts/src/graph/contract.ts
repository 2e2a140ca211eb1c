import { defineContract } from '../definition/define.ts';
import { graphEvents } from './events.ts';
import { graphMethods } from './graph.ts';
import { graphOperations } from './operations.ts';

export const graph = defineContract({
  service: 'graph',
  methods: { ...graphMethods },
  operations: graphOperations,
  events: graphEvents,
});
