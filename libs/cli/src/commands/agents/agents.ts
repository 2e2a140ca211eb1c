import { group } from '../../arguments/command-group.ts';
import { createAgent, deleteAgent, resumeAgent, suspendAgent, updateAgent } from './agents-changes.ts';
import { listAgents, showAgent, showCacheUse, showOperations } from './agents-views.ts';

export const agents = group({
  name: 'agents',
  about: 'Shows agents, makes them and changes them. A change is in force at the next turn.',
  otherwise: 'list',
  verbs: {
    list: { about: 'all of them, with what they run on', run: listAgents },
    show: {
      takes: '<id>',
      about: 'every setting of one that is not as it would be without',
      names: ['agents'],
      flags: ['all'],
      run: showAgent,
    },
    models: { takes: '<id>', about: 'which model does which kind of its work', names: ['agents'], run: showOperations },
    cache: { takes: '[id]', about: 'what prompt caching saved, for one or for all', names: ['agents'], run: showCacheUse },
    create: {
      takes: '<name> [setting=value]…',
      about: 'makes one; its id is the slug of the name',
      flags: ['provider', 'model'],
      run: createAgent,
    },
    update: {
      takes: '<id> [setting=value]…',
      about: 'changes settings of one; dots lead deeper',
      names: ['agents'],
      flags: ['provider', 'model', 'dry-run'],
      run: updateAgent,
    },
    suspend: { takes: '<id>', about: 'takes no more messages; what runs, finishes', names: ['agents'], run: suspendAgent },
    resume: { takes: '<id>', about: 'takes messages again', names: ['agents'], run: resumeAgent },
    delete: {
      takes: '<id>',
      about: 'removes one; its sessions stay, and new turns in them fail',
      names: ['agents'],
      flags: ['yes'],
      run: deleteAgent,
    },
  },
  flags: {
    all: { about: 'show: every setting' },
    provider: { value: 'name', about: 'create, update: whose model answers', names: 'providers' },
    model: { value: 'name', about: 'create, update: which one' },
    'dry-run': { about: 'update: checks everything and writes nothing; 1 if it would be refused' },
    yes: { about: 'delete: without being asked' },
  },
  examples: [
    'agents list',
    'agents create Researcher --provider openai --model gpt-5 maxSteps=40',
    'agents update researcher rag.enabled=true --dry-run',
    'agents suspend researcher',
  ],
});
