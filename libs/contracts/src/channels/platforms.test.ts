import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { parseParams } from '../definition/validation.ts';
import { DiscordAction, platformMethods, SlackAction, TelegramAction, WhatsAppAction } from './platforms.ts';

const supported = {
  'discord.action':
    'pin unpin kick ban unban role_add role_remove set_topic set_slowmode guild_info channel_info threadCreate threadList threadReply channelCreate channelEdit channelDelete channelMove setPresence',
  'telegram.action': 'pin unpin poll sticker chat_info member_count get_admins set_title set_description ban unban promote',
  'slack.action': 'pin unpin set_topic set_purpose archive unarchive create_channel invite kick channel_info members_list bookmark_add',
  'whatsapp.action':
    'group_info group_update_subject group_update_description group_participants_add group_participants_remove group_promote group_demote group_settings group_invite_code profile_status group_leave',
} as const;

function refused(schema: z.ZodType, params: unknown, message: string): void {
  assert.throws(() => parseParams(schema, params), { code: 'INVALID_ARGUMENT', message: `Invalid params: ${message}` });
}

for (const [method, actions] of Object.entries(supported)) {
  test(`${method} refuses an action it does not have, naming those it has`, () => {
    const { params } = platformMethods[method as keyof typeof supported];
    const names = actions.split(' ').map((name) => `"${name}"`);
    refused(params, { action: 'teleport' }, `action: expected one of ${names.join(', ')}, got another string`);
    refused(params, {}, `action: expected one of ${names.join(', ')}, got nothing`);
  });
}

test('an action takes its own parameters and refuses those of another', () => {
  refused(DiscordAction, { action: 'pin', channel_id: '1' }, 'message_id: expected string, got nothing');
  refused(DiscordAction, { action: 'guild_info', guild_id: '1', seconds: 5 }, 'seconds: expected no such parameter, got an unknown name');
  refused(
    SlackAction,
    { action: 'invite', channel_id: 'C1', user_ids: [] },
    'user_ids: expected array of at least 1 item, got shorter array',
  );
});

test('the bounds of the platforms hold', () => {
  const poll = { action: 'poll', chat_id: '-100678', question: 'Lunch?', options: ['now', 'later'] };
  assert.deepEqual(parseParams(TelegramAction, poll), { ...poll, maxSelections: 1, durationHours: 24 });
  assert.equal(TelegramAction.safeParse({ ...poll, options: ['now'] }).success, false);
  assert.equal(TelegramAction.safeParse({ ...poll, durationHours: 169 }).success, false);

  const ban = { action: 'ban', guild_id: '1', user_id: '2' };
  assert.equal(DiscordAction.safeParse({ ...ban, delete_message_days: 7 }).success, true);
  assert.equal(DiscordAction.safeParse({ ...ban, delete_message_days: 8 }).success, false);

  const thread = { action: 'threadCreate', channel_id: '1', name: 'release' };
  assert.equal(DiscordAction.safeParse({ ...thread, auto_archive_duration: 10_080 }).success, true);
  assert.equal(DiscordAction.safeParse({ ...thread, auto_archive_duration: 61 }).success, false);

  const settings = { action: 'group_settings', group_jid: '1@g.us' };
  assert.equal(WhatsAppAction.safeParse({ ...settings, setting: 'not_announcement' }).success, true);
  assert.equal(WhatsAppAction.safeParse({ ...settings, setting: 'open' }).success, false);
});
