import { z } from 'zod';
import { defineMethods } from '../definition/define.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

const Id = z.string().min(1).max(256);
const Text = z.string().min(1).max(MAX.text);

/** Response of the platform, under the requested action. */
export const PlatformResult = z.object({ ok: z.literal(true), action: boundedString(MAX.line), result: z.unknown().optional() });

/** Declares one action: its name and its params. */
function action<const N extends string, S extends z.core.$ZodLooseShape>(name: N, shape: S) {
  return z.strictObject({ action: z.literal(name), ...shape });
}

const guild = { guild_id: Id };
const channel = { channel_id: Id };
const member = { ...guild, user_id: Id };
const reason = Text.max(512).optional();

/** The nineteen actions on Discord. */
export const DiscordAction = z.discriminatedUnion('action', [
  action('pin', { ...channel, message_id: Id }),
  action('unpin', { ...channel, message_id: Id }),
  action('kick', { ...member, reason }),
  action('ban', { ...member, reason, delete_message_days: z.int().min(0).max(7).optional() }),
  action('unban', member),
  action('role_add', { ...member, role_id: Id }),
  action('role_remove', { ...member, role_id: Id }),
  action('set_topic', { ...channel, topic: z.string().max(4096) }),
  action('set_slowmode', { ...channel, seconds: z.int().min(0).max(21_600) }),
  action('guild_info', guild),
  action('channel_info', channel),
  action('threadCreate', {
    ...channel,
    name: Text.max(100),
    message_id: Id.optional(),
    auto_archive_duration: z.union([z.literal(60), z.literal(1440), z.literal(4320), z.literal(10_080)]).optional(),
  }),
  action('threadList', guild),
  action('threadReply', { thread_id: Id, text: Text }),
  action('channelCreate', {
    ...guild,
    name: Text.max(100),
    type: z.enum(['text', 'voice', 'category', 'announcement', 'forum', 'stage']).default('text'),
    parent_id: Id.optional(),
    position: z.int().nonnegative().optional(),
  }),
  action('channelEdit', { ...channel, name: Text.max(100).optional(), topic: z.string().max(4096).optional() }),
  action('channelDelete', channel),
  action('channelMove', { ...channel, category_id: Id }),
  action('setPresence', {
    status_text: z.string().max(128),
    activity_type: z.enum(['playing', 'watching', 'listening', 'competing']).optional(),
  }),
]);

const chat = { chat_id: Id };

/** The twelve actions on Telegram. */
export const TelegramAction = z.discriminatedUnion('action', [
  action('pin', { ...chat, message_id: Id }),
  action('unpin', { ...chat, message_id: Id }),
  action('poll', {
    ...chat,
    question: Text.max(300),
    options: z.array(Text.max(100)).min(2).max(10),
    maxSelections: z.int().min(1).max(10).default(1),
    durationHours: z.int().min(1).max(168).default(24),
  }),
  action('sticker', { ...chat, sticker_id: Id }),
  action('chat_info', chat),
  action('member_count', chat),
  action('get_admins', chat),
  action('set_title', { ...chat, title: Text.max(128) }),
  action('set_description', { ...chat, description: z.string().max(255) }),
  action('ban', { ...chat, user_id: Id }),
  action('unban', { ...chat, user_id: Id }),
  action('promote', {
    ...chat,
    user_id: Id,
    rights: z.record(boundedString(MAX.name), z.boolean()).check(maxKeys(MAX.few)).optional().describe('for example can_pin_messages'),
  }),
]);

/** The twelve actions on Slack. */
export const SlackAction = z.discriminatedUnion('action', [
  action('pin', { ...channel, message_id: Id.describe('the ts of the message') }),
  action('unpin', { ...channel, message_id: Id.describe('the ts of the message') }),
  action('set_topic', { ...channel, topic: z.string().max(250) }),
  action('set_purpose', { ...channel, purpose: z.string().max(250) }),
  action('archive', channel),
  action('unarchive', channel),
  action('create_channel', { name: Text.max(80), is_private: z.boolean().default(false) }),
  action('invite', { ...channel, user_ids: z.array(Id).min(1).max(1000) }),
  action('kick', { ...channel, user_id: Id }),
  action('channel_info', channel),
  action('members_list', { ...channel, limit: z.int().min(1).max(1000).optional() }),
  action('bookmark_add', { ...channel, title: Text.max(255), link: z.url().max(MAX.url) }),
]);

const group = { group_jid: Id.describe('for example 123456789@g.us') };
const participants = { ...group, participant_jids: z.array(Id).min(1).max(1000) };

/** The eleven actions on WhatsApp. */
export const WhatsAppAction = z.discriminatedUnion('action', [
  action('group_info', group),
  action('group_update_subject', { ...group, subject: Text.max(100) }),
  action('group_update_description', { ...group, description: z.string().max(2048) }),
  action('group_participants_add', participants),
  action('group_participants_remove', participants),
  action('group_promote', participants),
  action('group_demote', participants),
  action('group_settings', { ...group, setting: z.enum(['announcement', 'not_announcement', 'locked', 'unlocked']) }),
  action('group_invite_code', group),
  action('profile_status', { status_text: Text.max(139) }),
  action('group_leave', group),
]);

const PLATFORM_DEADLINE_MS = 60_000;
const description = 'Each action takes its own parameters; an action the platform does not have is refused with the list of those it has.';
const errors = ['NOT_FOUND', 'FAILED_PRECONDITION', 'PERMISSION_DENIED', 'UNAVAILABLE', 'RESOURCE_EXHAUSTED'] as const;
const common = { description, scope: 'admin', result: PlatformResult, deadlineMs: PLATFORM_DEADLINE_MS, errors } as const;

export const platformMethods = defineMethods({
  'discord.action': {
    ...common,
    summary: 'Performs Discord-specific actions: roles, threads, channels, moderation.',
    params: DiscordAction,
    emits: ['audit:event'],
    examples: [
      {
        params: { action: 'threadCreate', channel_id: '1043', name: 'release 2.0', auto_archive_duration: 1440 },
        result: { ok: true, action: 'threadCreate', result: { threadId: '1099' } },
      },
    ],
  },
  'telegram.action': {
    ...common,
    summary: 'Performs Telegram-specific actions: polls, stickers, titles, moderation.',
    params: TelegramAction,
    emits: ['audit:event'],
    examples: [
      {
        params: { action: 'poll', chat_id: '-100678', question: 'Lunch?', options: ['now', 'later'] },
        result: { ok: true, action: 'poll', result: { messageId: '42' } },
      },
    ],
  },
  'slack.action': {
    ...common,
    summary: 'Performs Slack-specific actions: channels, topics, members, bookmarks.',
    params: SlackAction,
    emits: ['audit:event'],
    examples: [
      {
        params: { action: 'bookmark_add', channel_id: 'C024BE91L', title: 'Runbook', link: 'https://example.com/runbook' },
        result: { ok: true, action: 'bookmark_add' },
      },
    ],
  },
  'whatsapp.action': {
    ...common,
    summary: 'Performs WhatsApp-specific actions: groups, their members and settings.',
    params: WhatsAppAction,
    emits: ['audit:event'],
    examples: [
      {
        params: { action: 'group_participants_add', group_jid: '123456789@g.us', participant_jids: ['4790000000@s.whatsapp.net'] },
        result: { ok: true, action: 'group_participants_add' },
      },
    ],
  },
});
