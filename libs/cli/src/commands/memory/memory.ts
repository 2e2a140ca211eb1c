import { group } from '../../arguments/command-group.ts';
import { addMemory, clearMemory, exportMemories, forgetMemory } from './memory-changes.ts';
import { listMemories, searchMemories, showCache, showMemory, showStats } from './memory-views.ts';

const TYPES = ['working', 'episodic', 'semantic', 'procedural'];
const TRUST = ['system', 'learned', 'external'];

export const memory = group({
  name: 'memory',
  about: 'Lists, searches, adds and deletes memories of agents.',
  otherwise: 'list',
  verbs: {
    list: {
      about: 'lists memories page by page, newest first',
      flags: ['agent', 'type', 'trust', 'tags', 'oldest', 'limit', 'offset'],
      run: listMemories,
    },
    search: { takes: '<word>…', about: 'full-text and semantic search, best match first', flags: ['agent', 'limit'], run: searchMemories },
    show: { takes: '<id>', about: 'shows one memory completely', run: showMemory },
    add: {
      takes: '<text>',
      about: 'adds a memory; - reads it from standard input',
      flags: ['agent', 'type', 'tags', 'expires'],
      run: addMemory,
    },
    forget: { takes: '<id>', about: 'permanently deletes one memory', run: forgetMemory },
    clear: { about: 'permanently deletes all memories of the tenant', flags: ['yes'], run: clearMemory },
    export: { about: 'prints all memories as JSON', run: exportMemories },
    stats: { about: 'entry counts by type and agent', run: showStats },
    cache: { about: 'embedding provider and hit rate of its cache', run: showCache },
  },
  flags: {
    agent: { value: 'id', about: 'agent id; default of search and add: the default agent', names: 'agents' },
    type: { value: 'type', about: `list, add: ${TYPES.join(', ')}`, names: TYPES },
    trust: { value: 'level', about: `list: ${TRUST.join(', ')}`, names: TRUST },
    tags: { value: 'a,b', about: 'list: memories with all these tags; add: tags of the memory' },
    oldest: { about: 'list: oldest first' },
    limit: { value: 'n', about: 'list, search: maximum number of results' },
    offset: { value: 'n', about: 'list: number of memories to skip' },
    expires: { value: 'when', about: 'add: expiry as a date, or a time from now such as 30d' },
    yes: { about: 'clear: skips the confirmation' },
  },
  examples: ['memory list', 'memory search "answers in the morning"', 'memory export > memories.json'],
});
