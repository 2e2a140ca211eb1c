import { z } from 'zod';
import { SessionKey, Timestamp } from '../values/common.ts';
import type { ServiceName } from '../definition/define.ts';
import { approvalExample, ApprovalRequest, ApprovalResolution } from '../sessions/admin-approval.ts';
import { TurnId, TurnProgress } from '../sessions/turns.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** A message a WebSocket client gets without having asked; it carries no id and is never answered. */
export interface NotificationSpec {
  summary: string;
  /** `client`: the connections of one token; all connections where that token is not known. `connection`: the one that asked. */
  audience: 'all' | 'client' | 'connection';
  /** The services that send it. */
  from: readonly ServiceName[];
  params: z.ZodType;
  example: unknown;
}

/** Keeps the exact types of what is declared. */
function defineNotifications<N extends Record<string, NotificationSpec>>(all: N): N {
  return all;
}

/** Every notification there is. Clients ignore the ones they do not know. */
export const notifications = defineNotifications({
  heartbeat: {
    summary: 'Heartbeat of the connection, every gateway.wsHeartbeatMs.',
    audience: 'all',
    from: ['gateway'],
    params: z.object({ ts: Timestamp }),
    example: { ts: 1763719200000 },
  },
  'agent.frame': {
    summary: 'A frame of a turn that this connection follows with agent.attach.',
    audience: 'connection',
    from: ['gateway'],
    params: z.object({ turnId: TurnId, frame: TurnProgress }),
    example: { turnId: 'turn_5Qm8Zr1nY0cVh3Kd7LsXwB', frame: { n: 3, type: 'delta', text: 'Hello' } },
  },
  'approval.requested': {
    summary: 'A tool call or a question of an agent waits for a person. Sent to the clients that may resolve it.',
    audience: 'all',
    from: ['gateway'],
    params: ApprovalRequest,
    example: approvalExample,
  },
  'approval.resolved': {
    summary: 'A waiting tool call or question was resolved. Sent to the clients that may resolve it.',
    audience: 'all',
    from: ['gateway'],
    params: ApprovalResolution,
    example: { requestId: approvalExample.requestId, approved: true, approvedBy: 'operator', resolvedAt: 1763719260000 },
  },
  'session.completed': {
    summary: 'A sub-agent run ended. `result` is the text that the parent session reads, or the error.',
    audience: 'client',
    from: ['sessions'],
    params: z.object({
      sessionKey: SessionKey.describe('session of the run'),
      parentSessionKey: SessionKey.optional().describe('session that requested the run'),
      result: boundedString(MAX.payload),
    }),
    example: {
      sessionKey: 'agent:researcher:default:sub-agent-run_4fT0mUq2Zs8KxY1bNcVdGh:sub-agent:run_4fT0mUq2Zs8KxY1bNcVdGh',
      parentSessionKey: 'default:alice:gateway',
      result: 'The second offer is the cheapest.',
    },
  },
  'notification.message': {
    summary: 'A message of an agent, job, heartbeat or graph for the channel `gateway`.',
    audience: 'all',
    from: ['channels'],
    params: z.object({ text: boundedString(MAX.text), timestamp: Timestamp }),
    example: { text: 'The nightly report is ready.', timestamp: 1763719200000 },
  },
  'notification.attachment': {
    summary: 'A file was sent to the channel `gateway`.',
    audience: 'all',
    from: ['channels'],
    params: z.object({
      url: boundedString(MAX.url).describe('/media/<id>'),
      type: boundedString(MAX.name).describe('image, audio, video or file'),
      mimeType: boundedString(MAX.name),
      fileName: boundedString(MAX.path),
      caption: boundedString(MAX.text).optional(),
      timestamp: Timestamp,
    }),
    example: {
      url: '/media/report-2025-11-21.pdf',
      type: 'file',
      mimeType: 'application/pdf',
      fileName: 'report-2025-11-21.pdf',
      timestamp: 1763719200000,
    },
  },
});

type Notifications = typeof notifications;
export type NotificationName = keyof Notifications;
export type NotificationParams<N extends NotificationName> = z.output<Notifications[N]['params']>;
