import { z } from 'zod';
import { Timestamp } from '../values/common.ts';
import { defineEvents } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** Features of a platform; the whole result of `channels.capabilities`. */
export const ChannelFeatures = z.object({
  reactions: z.boolean(),
  editMessages: z.boolean(),
  deleteMessages: z.boolean(),
  fetchHistory: z.boolean(),
  attachments: z.boolean(),
  threads: z.boolean(),
  mentions: z.boolean(),
  buttons: z.boolean(),
  cards: z.boolean(),
  effects: z.boolean(),
  formatting: z
    .array(boundedString(MAX.name))
    .max(MAX.many)
    .describe('markdown, html, mrkdwn, signal-text-styles, irc-control-codes, flex'),
});

/** Everything an adapter says of its platform when it registers. */
export const ChannelCapabilities = z.object({
  chatTypes: z.array(z.enum(['dm', 'group', 'thread', 'channel', 'forum'])).max(MAX.many),
  features: ChannelFeatures,
  limits: z.object({ maxMessageChars: z.int().positive(), maxAttachmentMb: z.number().positive().optional() }),
  streaming: z.object({ mode: z.enum(['edit', 'block', 'none']), throttleMs: z.int().nonnegative().optional() }),
  threading: z.enum(['native', 'reply-chain', 'none']),
});

/** Adapters that come and go. */
export const channelsEvents = defineEvents({
  'channel:registered': {
    summary: 'A channel adapter connected and accepts messages.',
    payload: z.object({
      channelType: boundedString(MAX.name),
      pluginId: boundedString(MAX.name),
      capabilities: ChannelCapabilities,
      timestamp: Timestamp,
    }),
    example: {
      channelType: 'telegram',
      pluginId: 'telegram',
      capabilities: {
        chatTypes: ['dm', 'group', 'channel', 'forum'],
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
        limits: { maxMessageChars: 4096, maxAttachmentMb: 50 },
        streaming: { mode: 'edit', throttleMs: 300 },
        threading: 'native',
      },
      timestamp: 1763719200000,
    },
  },
  'channel:deregistered': {
    summary: 'A channel adapter disconnected.',
    payload: z.object({ channelType: boundedString(MAX.name), pluginId: boundedString(MAX.name), timestamp: Timestamp }),
    example: { channelType: 'telegram', pluginId: 'telegram', timestamp: 1763719200000 },
  },
});
