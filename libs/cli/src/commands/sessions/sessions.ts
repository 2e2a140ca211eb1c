import { group } from '../../arguments/command-group.ts';
import { clearSession, compactSession, exportSession, forgetSession, labelSession } from './sessions-changes.ts';
import { listSessions, searchSessions } from './sessions-lists.ts';
import { showContext, showSession, showTree } from './sessions-views.ts';

const KINDS = ['all', 'dm', 'group', 'sub-agent'];

export const sessions = group({
  name: 'sessions',
  about: 'Shows conversations: what was said in them, how it was made shorter, and what a model is told of it. Clears and forgets them.',
  otherwise: 'list',
  verbs: {
    list: { about: 'the sessions of the tenant, newest first', flags: ['kind', 'since', 'label'], run: listSessions },
    show: {
      takes: '<key>',
      about: 'one of them: its tree, and the newest that was said',
      names: ['sessions'],
      flags: ['last'],
      run: showSession,
    },
    search: { takes: '<word>…', about: 'finds sessions by what was said in them', flags: ['limit'], run: searchSessions },
    tree: { takes: '<key>', about: 'the tree of summaries over what was said', names: ['sessions'], run: showTree },
    context: {
      takes: '[key]',
      about: 'what a model is told of a session now, and was told in its turns; without a key, the conversations of your agent',
      names: ['sessions'],
      flags: ['limit', 'offset'],
      run: showContext,
    },
    export: { takes: '<key>', about: 'all of one, as JSON', names: ['sessions'], run: exportSession },
    label: {
      takes: '<key> [word]…',
      about: 'gives it a short title, shows the one it has, or with - takes it away',
      names: ['sessions'],
      run: labelSession,
    },
    compact: {
      takes: '<key>',
      about: 'has what is old in it told in summaries; everything said stays',
      names: ['sessions'],
      run: compactSession,
    },
    reset: { takes: '<key>', about: 'clears what was said in it', names: ['sessions'], flags: ['memory', 'purge'], run: clearSession },
    forget: { takes: '<key>', about: 'removes it for good', names: ['sessions'], flags: ['memory', 'yes'], run: forgetSession },
  },
  flags: {
    kind: { value: 'kind', about: `list: ${KINDS.join(', ')}`, names: KINDS },
    since: { value: 'minutes', about: 'list: only those used within so many' },
    label: { value: 'title', about: 'list: only those labelled so' },
    last: { value: 'n', about: 'show: how many messages; 20 unless said' },
    limit: { value: 'n', about: 'search, context: at most so many' },
    offset: { value: 'n', about: 'context: from which on' },
    memory: { about: 'reset, forget: also what agents remember of it' },
    purge: { about: 'reset, with --memory: also what was concluded from it and from others' },
    yes: { about: 'forget: without being asked' },
  },
  examples: [
    'sessions list --since 60',
    'sessions search "second offer"',
    'sessions show default:alice:gateway',
    'sessions reset default:alice:gateway',
  ],
});
