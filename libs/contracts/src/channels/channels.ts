import { z } from 'zod';
import { Count, DurationMs, NoParams, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { ChannelFeatures } from './events.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const ChannelType = z
  .string()
  .min(1)
  .max(64)
  .describe('discord, telegram, slack, whatsapp, signal, imessage, line, irc, email, echo');

const channelType = boundedString(MAX.name);

/** A configured channel; without a connection it is stopped. */
export const Channel = z.object({
  channelType,
  channelId: boundedString(MAX.name).optional(),
  status: z.enum(['running', 'stopped']),
  configured: z.boolean().optional(),
});

export const ChannelList = z.object({ channels: z.array(Channel).max(MAX.all), total: Count });
export const ChannelAbilities = z.object({ channelType, features: ChannelFeatures });

/** Health of one adapter. Times of events that have not happened are null. */
export const ChannelHealth = z.object({
  channelType,
  state: z.enum(['startup-grace', 'healthy', 'idle', 'stale', 'stuck', 'disconnected', 'errored', 'unknown']),
  connectionMode: z.enum(['socket', 'polling', 'webhook']),
  lastCheckedAt: Timestamp.nullable(),
  lastMessageAt: Timestamp.nullable(),
  error: boundedString(MAX.line).nullable(),
  stateChangedAt: Timestamp,
  consecutiveFailures: Count,
  activeRuns: Count,
  restartAttempts: Count,
  uptimeMs: DurationMs,
});

export const ChannelsHealth = z.object({
  channels: z.array(ChannelHealth).max(MAX.all),
  timestamp: Timestamp,
  enabled: z.boolean().describe('whether the health monitor is active'),
});

export const ChannelStarted = z.object({ channelType, status: z.literal('running'), message: boundedString(MAX.line) });
export const ChannelStopped = z.object({ channelType, status: z.literal('stopped'), message: boundedString(MAX.line) });

const OneChannel = z.strictObject({ channel_type: ChannelType });
const CONNECT_DEADLINE_MS = 60_000;
const telegram = { channel_type: 'telegram' };

export const channelsMethods = defineMethods({
  'channels.list': {
    summary: 'Lists the channels, including stopped ones.',
    scope: 'admin',
    params: NoParams,
    result: ChannelList,
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          channels: [
            { channelType: 'telegram', channelId: 'telegram', status: 'running' },
            { channelType: 'slack', status: 'stopped', configured: true },
          ],
          total: 2,
        },
      },
    ],
  },
  'channels.get': {
    summary: 'Returns the state of one channel.',
    scope: 'admin',
    params: OneChannel,
    result: Channel,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: telegram, result: { channelType: 'telegram', channelId: 'telegram', status: 'running', configured: true } }],
  },
  'channels.capabilities': {
    summary: 'Returns the capabilities of a channel: reactions, edits, threads, buttons.',
    scope: 'rpc',
    params: OneChannel,
    result: ChannelAbilities,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: telegram,
        result: {
          channelType: 'telegram',
          features: {
            reactions: true,
            editMessages: true,
            deleteMessages: true,
            fetchHistory: false,
            attachments: true,
            threads: true,
            mentions: true,
            buttons: true,
            cards: true,
            effects: true,
            formatting: ['html'],
          },
        },
      },
    ],
  },
  'channels.health': {
    summary: 'Returns the health of every channel.',
    scope: 'rpc',
    params: NoParams,
    result: ChannelsHealth,
    idempotent: true,
    examples: [
      {
        params: {},
        result: {
          channels: [
            {
              channelType: 'telegram',
              state: 'healthy',
              connectionMode: 'polling',
              lastCheckedAt: 1763719200000,
              lastMessageAt: 1763719140000,
              error: null,
              stateChangedAt: 1763715600000,
              consecutiveFailures: 0,
              activeRuns: 1,
              restartAttempts: 0,
              uptimeMs: 3_600_000,
            },
          ],
          timestamp: 1763719200000,
          enabled: true,
        },
      },
    ],
  },
  'channels.enable': {
    summary: 'Connects a configured channel.',
    description: 'No configuration file is written. The channel stays enabled after a restart.',
    scope: 'admin',
    audited: 'destructive',
    params: OneChannel,
    result: ChannelStarted,
    deadlineMs: CONNECT_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: ['channel:registered', 'config:patched', 'audit:event'],
    examples: [{ params: telegram, result: { channelType: 'telegram', status: 'running', message: 'telegram started' } }],
  },
  'channels.disable': {
    summary: 'Disconnects a channel and disables it.',
    scope: 'admin',
    audited: 'destructive',
    params: OneChannel,
    result: ChannelStopped,
    deadlineMs: CONNECT_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    emits: ['channel:deregistered', 'config:patched', 'audit:event'],
    examples: [{ params: telegram, result: { channelType: 'telegram', status: 'stopped', message: 'telegram stopped' } }],
  },
  'channels.restart': {
    summary: 'Reconnects a channel; a stopped one is started.',
    scope: 'admin',
    audited: 'destructive',
    params: OneChannel,
    result: ChannelStarted,
    deadlineMs: CONNECT_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: ['channel:deregistered', 'channel:registered'],
    examples: [{ params: telegram, result: { channelType: 'telegram', status: 'running', message: 'telegram restarted' } }],
  },
});
