import { group } from '../../arguments/command-group.ts';
import { createAgent, deleteAgent, resumeAgent, suspendAgent, updateAgent } from './agents-changes.ts';
import { listAgents, showAgent, showCacheUse, showOperations } from './agents-views.ts';

export const agents = group({
  name: 'agents',
  about: 'Lists, creates, updates and deletes agents. A change takes effect at the next turn.',
  otherwise: 'list',
  verbs: {
    list: { about: 'lists all agents with their models', run: listAgents },
    show: {
      takes: '<id>',
      about: 'shows the settings of an agent that differ from the defaults',
      names: ['agents'],
      flags: ['all'],
      run: showAgent,
    },
    models: { takes: '<id>', about: 'shows the model of each operation of an agent', names: ['agents'], run: showOperations },
    cache: { takes: '[id]', about: 'shows the savings of prompt caching, of one agent or of all', names: ['agents'], run: showCacheUse },
    create: {
      takes: '<name> [setting=value]…',
      about: 'creates an agent; its id is the slug of the name',
      flags: ['provider', 'model'],
      run: createAgent,
    },
    update: {
      takes: '<id> [setting=value]…',
      about: 'updates settings of an agent; dots separate nested keys',
      names: ['agents'],
      flags: ['provider', 'model', 'dry-run'],
      run: updateAgent,
    },
    suspend: { takes: '<id>', about: 'refuses new messages; running turns finish', names: ['agents'], run: suspendAgent },
    resume: { takes: '<id>', about: 'accepts messages again', names: ['agents'], run: resumeAgent },
    delete: {
      takes: '<id>',
      about: 'deletes an agent; its sessions are kept, but new turns in them fail',
      names: ['agents'],
      flags: ['yes'],
      run: deleteAgent,
    },
  },
  flags: {
    all: { about: 'show: every setting' },
    provider: { value: 'name', about: 'create, update: provider of the model', names: 'providers' },
    model: { value: 'name', about: 'create, update: which one' },
    'dry-run': { about: 'update: validates without writing; exit code 1 if the change is invalid' },
    yes: { about: 'delete: skips the confirmation' },
  },
  examples: [
    'agents list',
    'agents create Researcher --provider openai --model gpt-5 maxSteps=40',
    'agents update researcher rag.enabled=true --dry-run',
    'agents suspend researcher',
  ],
});
