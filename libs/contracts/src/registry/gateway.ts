import { z } from 'zod';
import { Count, NoParams, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { ConfigInForce } from './config-in-force.ts';

/** The restart that `gateway.restart` began last, by the names of replicas. */
export const RestartProgress = z.object({
  state: z.enum(['running', 'done', 'stopped']),
  since: Timestamp,
  by: boundedString(MAX.name).describe('requesting client'),
  restarted: z.array(boundedString(MAX.name)).max(MAX.many),
  leaving: z
    .array(boundedString(MAX.name))
    .max(MAX.few)
    .describe('process being restarted; after a stopped restart, the process that did not return'),
  waiting: z
    .array(boundedString(MAX.name))
    .max(MAX.all)
    .describe('processes that wait for their restart; after a stopped restart, those that were not restarted'),
  reason: boundedString(MAX.line).optional().describe('reason of the stop'),
});

/** The process that answers, and the configuration it runs. */
export const GatewayStatus = z.object({
  pid: z.int().nonnegative().describe('0 for callers of other tenants'),
  uptime: z.number().nonnegative().describe('seconds'),
  memoryUsage: Count.describe('resident bytes'),
  nodeVersion: boundedString(MAX.name),
  configPaths: z.array(boundedString(MAX.path)).max(MAX.many),
  sections: z.array(boundedString(MAX.name)).max(MAX.many).describe('the names of the sections of the configuration'),
  notInForce: z
    .array(z.object({ path: boundedString(MAX.line), from: boundedString(MAX.path) }))
    .max(MAX.many)
    .optional()
    .describe('settings of files and variables without effect, because no service reads them, with their source'),
  configuration: ConfigInForce.optional(),
  restart: RestartProgress.optional(),
});

export const RestartAccepted = z.object({
  restarting: z.literal(true),
  systemd: z.boolean().optional().describe('whether a supervisor restarts it'),
  warning: boundedString(MAX.line).optional(),
});

export const gatewayMethods = defineMethods({
  'gateway.status': {
    summary: 'Returns the state of the process that runs the control plane.',
    scope: 'admin',
    params: NoParams,
    result: GatewayStatus,
    blobs: ['configPaths', 'sections', 'notInForce', 'configuration', 'restart'],
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          pid: 4711,
          uptime: 3600.5,
          memoryUsage: 104857600,
          nodeVersion: 'v24.21.0',
          configPaths: ['/etc/switchyard/config.yaml'],
          sections: ['agents', 'gateway', 'providers'],
        },
      },
    ],
  },
  'gateway.restart': {
    summary: 'Restarts every process, one after the other.',
    description:
      'Returns immediately. A process drains after its predecessor is ready; `gateway.status` shows the progress. A call during a restart starts no second one. If a process does not return, the restart stops and the remaining processes keep running.',
    scope: 'admin',
    audited: 'destructive',
    params: NoParams,
    result: RestartAccepted,
    errors: ['FAILED_PRECONDITION'],
    emits: ['audit:event'],
    examples: [{ params: {}, result: { restarting: true } }],
  },
});
