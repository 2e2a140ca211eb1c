import { defineContract } from '../definition/define.ts';
import { cronMethods } from './cron.ts';
import { schedulerEvents } from './events.ts';
import { heartbeatMethods } from './heartbeat.ts';
import { schedulerMethods, schedulerOperations } from './scheduler.ts';

export const scheduler = defineContract({
  service: 'scheduler',
  methods: { ...cronMethods, ...heartbeatMethods, ...schedulerMethods },
  operations: schedulerOperations,
  events: schedulerEvents,
});
