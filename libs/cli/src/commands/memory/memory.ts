import { group } from '../../arguments/command-group.ts';
import { addMemory, clearMemory, exportMemories, forgetMemory } from './memory-changes.ts';
import { listMemories, searchMemories, showCache, showMemory, showStats } from './memory-views.ts';

const TYPES = ['working', 'episodic', 'semantic', 'procedural'];
const TRUST = ['system', 'learned', 'external'];

export const memory = group({
  name: 'memory',
  about: 'Shows what agents remember, adds to it, and forgets it.',
  otherwise: 'list',
  verbs: {
    list: {
      about: 'page by page, newest first',
      flags: ['agent', 'type', 'trust', 'tags', 'oldest', 'limit', 'offset'],
      run: listMemories,
    },
    search: { takes: '<word>…', about: 'by words and by likeness, best first', flags: ['agent', 'limit'], run: searchMemories },
    show: { takes: '<id>', about: 'all of one', run: showMemory },
    add: {
      takes: '<text>',
      about: 'has an agent remember it; - reads the input',
      flags: ['agent', 'type', 'tags', 'expires'],
      run: addMemory,
    },
    forget: { takes: '<id>', about: 'forgets one for good', run: forgetMemory },
    clear: { about: 'forgets everything of the tenant for good', flags: ['yes'], run: clearMemory },
    export: { about: 'all of it, as JSON', run: exportMemories },
    stats: { about: 'how much is remembered, counted', run: showStats },
    cache: { about: 'who makes vectors, and how well they are remembered', run: showCache },
  },
  flags: {
    agent: { value: 'id', about: 'of which agent; search and add are of the default one unless said', names: 'agents' },
    type: { value: 'type', about: `list, add: ${TYPES.join(', ')}`, names: TYPES },
    trust: { value: 'level', about: `list: ${TRUST.join(', ')}`, names: TRUST },
    tags: { value: 'a,b', about: 'list: those that carry all of them; add: carries them' },
    oldest: { about: 'list: oldest first' },
    limit: { value: 'n', about: 'list, search: at most so many' },
    offset: { value: 'n', about: 'list: from which on' },
    expires: { value: 'when', about: 'add: a date, or a time from now such as 30d' },
    yes: { about: 'clear: without being asked' },
  },
  examples: ['memory list', 'memory search "answers in the morning"', 'memory export > memories.json'],
});
