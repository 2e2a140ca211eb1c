import { z } from 'zod';
import { Count, NoParams, Timestamp } from '../common.ts';
import { defineMethods } from '../define.ts';
import { MAX, upTo } from '../sizes.ts';
import { ConfigInForce } from './config-in-force.ts';

/** The restart that `gateway.restart` began last, by the names of replicas. */
export const RestartProgress = z.object({
  state: z.enum(['running', 'done', 'stopped']),
  since: Timestamp,
  by: upTo(MAX.name).describe('the client that asked for it'),
  restarted: z.array(upTo(MAX.name)).max(MAX.many),
  leaving: z.array(upTo(MAX.name)).max(MAX.few).describe('who is being restarted; of a restart that was stopped, who did not come back'),
  waiting: z.array(upTo(MAX.name)).max(MAX.all).describe('whose turn has not come; of a restart that was stopped, who was left as it is'),
  reason: upTo(MAX.line).optional().describe('why it was stopped'),
});

/** The process that answers, and the configuration it runs. */
export const GatewayStatus = z.object({
  pid: z.int().positive(),
  uptime: z.number().nonnegative().describe('seconds'),
  memoryUsage: Count.describe('resident bytes'),
  nodeVersion: upTo(MAX.name),
  configPaths: z.array(upTo(MAX.path)).max(MAX.many),
  sections: z.array(upTo(MAX.name)).max(MAX.many).describe('the names of the sections of the configuration'),
  notInForce: z
    .array(z.object({ path: upTo(MAX.line), from: upTo(MAX.path) }))
    .max(MAX.many)
    .optional()
    .describe('settings that a file or a variable sets without effect, because nothing reads them yet, and where they are set'),
  configuration: ConfigInForce.optional(),
  restart: RestartProgress.optional(),
});

export const RestartAccepted = z.object({
  restarting: z.literal(true),
  systemd: z.boolean().optional().describe('whether something will start it again'),
  warning: upTo(MAX.line).optional(),
});

export const gatewayMethods = defineMethods({
  'gateway.status': {
    summary: 'How the process is that owns the control plane.',
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
    summary: 'Drains every process and starts it again, one after the other.',
    description:
      'Answers at once. A process leaves when the one before is ready again; `gateway.status` says how far it is. While one goes on, asking again begins no other. When somebody does not come back, it stops, and whoever was still to come stays as it is.',
    scope: 'admin',
    audited: 'destructive',
    params: NoParams,
    result: RestartAccepted,
    errors: ['FAILED_PRECONDITION'],
    emits: ['audit:event'],
    examples: [{ params: {}, result: { restarting: true } }],
  },
});
