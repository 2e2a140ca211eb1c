import { z } from 'zod';
import { IdempotencyKey, JsonObject, pageSize, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { ChannelType } from './channels.ts';
import { MAX, boundedString } from '../values/sizes.ts';

/** A button, a card, an effect as the platform knows it: passed on as it is, and shown as far as the platform can. */
export const PlatformObject = JsonObject;

const MAX_OBJECTS_CHARS = 65_536;

/** A list of what only the platform reads. Its size is bounded, and nothing else about it. */
function platformObjects<S extends z.ZodType>(item: S) {
  return z
    .array(item)
    .max(MAX.few)
    .refine((items) => JSON.stringify(items).length <= MAX_OBJECTS_CHARS, {
      error: `at most ${MAX_OBJECTS_CHARS} characters of JSON`,
      params: { received: 'more' },
    });
}

/** Rows of buttons. A flat list is one row; the output is always a list of rows. */
export const MessageButtons = z
  .union([platformObjects(z.array(PlatformObject).max(MAX.few)), platformObjects(PlatformObject).transform((row) => [row])])
  .describe('objects such as {text, callback_data, url, style}, in one row or in rows');

/** The output is always an object; a plain name is the effect of that type. */
export const MessageEffect = z.union([
  z
    .string()
    .min(1)
    .max(64)
    .transform((type) => ({ type })),
  PlatformObject,
]);

/** A message that was accepted, by the platform's id. */
export const MessageSent = z.object({ messageId: boundedString(MAX.name), channelId: boundedString(MAX.name) });

const location = { channelId: boundedString(MAX.name), messageId: boundedString(MAX.name) };

export const MessageEdited = z.object({ edited: z.literal(true), ...location });
export const MessageDeleted = z.object({ deleted: z.literal(true), ...location });
export const MessageReacted = z.object({ reacted: z.literal(true), ...location, emoji: boundedString(MAX.name) });

export const FetchedMessages = z.object({
  messages: z
    .array(
      z.object({ id: boundedString(MAX.name), senderId: boundedString(MAX.name), text: boundedString(MAX.text), timestamp: Timestamp }),
    )
    .max(MAX.all),
  channelId: boundedString(MAX.name).optional(),
});

const Id = z.string().min(1).max(256);
const Text = z.string().min(1).max(MAX.text);
const chat = { channel_type: ChannelType, channel_id: Id };
const message = { ...chat, message_id: Id };

/** Three attempts, the waits between them, and what the platform asks to wait. */
const SEND_DEADLINE_MS = 60_000;
const UPLOAD_DEADLINE_MS = 180_000;

const there = { channel_type: 'telegram', channel_id: '678' };
const sent = { messageId: '42', channelId: '678' };

export const messageMethods = defineMethods({
  'message.send': {
    summary: 'Sends a message to a channel.',
    description:
      'Buttons, cards and effects are forwarded unchanged, at most 100 of each and 65,536 characters of JSON. Unsupported ones are omitted, and the text is sent.',
    scope: 'admin',
    params: z.strictObject({
      ...chat,
      text: Text,
      buttons: MessageButtons.optional(),
      cards: platformObjects(PlatformObject).optional().describe('objects such as {title, description, image_url, color, fields, buttons}'),
      effects: platformObjects(MessageEffect).optional().describe('objects such as {type: silent}, or their types alone'),
      thread_reply: Id.optional().describe('thread of the answer'),
      idempotencyKey: IdempotencyKey.optional(),
    }),
    result: MessageSent,
    deadlineMs: SEND_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE', 'RESOURCE_EXHAUSTED'],
    emits: ['message:sent'],
    examples: [
      { params: { ...there, text: 'The build is green.' }, result: sent },
      {
        params: {
          ...there,
          text: 'Deploy?',
          buttons: [
            [
              { text: 'Yes', callback_data: 'deploy:yes', style: 'primary' },
              { text: 'No', callback_data: 'deploy:no' },
            ],
          ],
          effects: [{ type: 'silent' }],
        },
        result: sent,
      },
    ],
  },
  'message.reply': {
    summary: 'Replies to a message in its conversation.',
    scope: 'admin',
    params: z.strictObject({ ...message, text: Text }),
    result: MessageSent,
    deadlineMs: SEND_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    emits: ['message:sent'],
    examples: [{ params: { ...there, message_id: '41', text: 'On it.' }, result: sent }],
  },
  'message.edit': {
    summary: 'Edits a sent message.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({ ...message, text: Text }),
    result: MessageEdited,
    deadlineMs: SEND_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    examples: [{ params: { ...there, message_id: '42', text: 'The build is red.' }, result: { edited: true, ...sent } }],
  },
  'message.delete': {
    summary: 'Deletes a message.',
    scope: 'admin',
    audited: 'destructive',
    params: z.strictObject(message),
    result: MessageDeleted,
    deadlineMs: SEND_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    examples: [{ params: { ...there, message_id: '42' }, result: { deleted: true, ...sent } }],
  },
  'message.fetch': {
    summary: 'Reads the last messages of a channel.',
    scope: 'admin',
    params: z.strictObject({
      ...chat,
      limit: pageSize(20, 100),
      before: Id.optional().describe('only messages before this message id'),
    }),
    result: FetchedMessages,
    deadlineMs: SEND_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    examples: [
      {
        params: { channel_type: 'discord', channel_id: '1043', limit: 1 },
        result: { messages: [{ id: '77', senderId: '9', text: 'hello', timestamp: 1763719200000 }], channelId: '1043' },
      },
    ],
  },
  'message.react': {
    summary: 'Adds an emoji reaction to a message.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({ ...message, emoji: z.string().min(1).max(64) }),
    result: MessageReacted,
    deadlineMs: SEND_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE'],
    examples: [
      { params: { ...there, message_id: '41', emoji: '👍' }, result: { reacted: true, channelId: '678', messageId: '41', emoji: '👍' } },
    ],
  },
  'message.attach': {
    summary: 'Sends a file of the workspace to a channel.',
    scope: 'admin',
    params: z.strictObject({
      ...chat,
      file_path: z.string().min(1).max(4096).describe('path in the workspace of the agent'),
      caption: z.string().max(4096).optional(),
    }),
    result: MessageSent,
    deadlineMs: UPLOAD_DEADLINE_MS,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION', 'UNAVAILABLE', 'INVALID_ARGUMENT'],
    emits: ['message:sent'],
    examples: [{ params: { ...there, file_path: 'output/report.pdf', caption: 'The report' }, result: sent }],
  },
});
