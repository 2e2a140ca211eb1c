import { group } from '../../arguments/command-group.ts';
import { clearSession, compactSession, exportSession, forgetSession, labelSession } from './sessions-changes.ts';
import { listSessions, searchSessions } from './sessions-lists.ts';
import { showContext, showSession, showTree } from './sessions-views.ts';

const KINDS = ['all', 'dm', 'group', 'sub-agent'];

export const sessions = group({
  name: 'sessions',
  about: 'Lists, shows, searches and exports sessions, shows their summaries and model context, and compacts, resets and deletes them.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists the sessions of the tenant, newest first', flags: ['kind', 'since', 'label', 'limit'], run: listSessions },
    show: {
      takes: '<key>',
      about: 'shows the summary tree and the newest messages of a session',
      names: ['sessions'],
      flags: ['last'],
      run: showSession,
    },
    search: { takes: '<word>…', about: 'finds sessions by the text of their messages', flags: ['limit'], run: searchSessions },
    tree: { takes: '<key>', about: 'shows the tree of summaries of a session', names: ['sessions'], run: showTree },
    context: {
      takes: '[key]',
      about: 'shows the current model context of a session and of its turns; without a key, lists the conversations of your agent',
      names: ['sessions'],
      flags: ['limit', 'offset'],
      run: showContext,
    },
    export: { takes: '<key>', about: 'prints a complete session as JSON', names: ['sessions'], run: exportSession },
    label: {
      takes: '<key> [word]…',
      about: 'sets the title of a session; shows it without a label; removes it with -',
      names: ['sessions'],
      run: labelSession,
    },
    compact: {
      takes: '<key>',
      about: 'replaces old messages by summaries in the model context; no message is deleted',
      names: ['sessions'],
      run: compactSession,
    },
    reset: {
      takes: '<key>',
      about: 'deletes the messages of a session',
      names: ['sessions'],
      flags: ['memory', 'purge'],
      run: clearSession,
    },
    forget: { takes: '<key>', about: 'permanently deletes a session', names: ['sessions'], flags: ['memory', 'yes'], run: forgetSession },
  },
  flags: {
    kind: { value: 'kind', about: `list: ${KINDS.join(', ')}`, names: KINDS },
    since: { value: 'minutes', about: 'list: only sessions used within this many' },
    label: { value: 'title', about: 'list: only sessions with this label' },
    last: { value: 'n', about: 'show: number of messages; default: 20' },
    limit: { value: 'n', about: 'list, search, context: maximum number of results' },
    offset: { value: 'n', about: 'context: number of results to skip' },
    memory: { about: 'reset, forget: also deletes memories from this session' },
    purge: { about: 'reset, with --memory: also deletes memories derived from this and other sessions' },
    yes: { about: 'forget: skips the confirmation' },
  },
  examples: [
    'sessions list --since 60',
    'sessions search "second offer"',
    'sessions show default:alice:gateway',
    'sessions reset default:alice:gateway',
  ],
});
