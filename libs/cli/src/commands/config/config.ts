import { group } from '../../arguments/command-group.ts';
import { changeKey, foldVersions, goBack } from './config-changes.ts';
import { applyDocument, checkDocument, patchDocument } from './config-documents.ts';
import { showDiff, showHistory, showOrigins, showSchema, showValue } from './config-views.ts';

const WRITE = ['base', 'message', 'dry-run'];

export const config = group({
  name: 'config',
  about:
    'Looks at the configuration of a running server, changes it, and goes back. A change is in force everywhere within a second, without a restart.',
  verbs: {
    get: {
      takes: '[key]',
      about: 'what is in force: all of it, a section, or one key such as gateway.maxBatchSize',
      names: ['settings'],
      flags: ['raw'],
      run: showValue,
    },
    set: {
      takes: '<key> <value>',
      about: 'a value is JSON if it parses as JSON, else a string; null takes back what was set',
      names: ['settings', []],
      flags: WRITE,
      run: changeKey,
    },
    print: { takes: '[section]', about: 'every key with its value and where that comes from', names: ['settings'], run: showOrigins },
    schema: { takes: '[section]', about: 'the JSON Schema of a section, or of all', names: ['settings'], run: showSchema },
    validate: { takes: '<file>', about: 'checks a file here, without a server', names: ['files'], run: checkDocument },
    apply: {
      takes: '<file>',
      about: 'makes a file the stored configuration as a whole, after showing what would change',
      names: ['files'],
      flags: [...WRITE, 'yes'],
      run: applyDocument,
    },
    patch: { takes: '<file>', about: 'merges a file into the stored configuration', names: ['files'], flags: WRITE, run: patchDocument },
    history: { about: 'the versions, newest first, and who does not run the newest yet', flags: ['limit'], run: showHistory },
    diff: { takes: '[version]', about: 'what changed since a version, or with the newest one', names: ['versions'], run: showDiff },
    rollback: { takes: '<version>', about: 'makes an earlier version the newest', names: ['versions'], flags: WRITE, run: goBack },
    gc: { about: 'folds all but the newest 50 versions into one', flags: ['dry-run', 'yes'], run: foldVersions },
  },
  flags: {
    raw: { about: 'get: a section with its secrets, which is put on record' },
    limit: { value: 'n', about: 'history: how many versions; 10 unless said' },
    base: { value: 'version', about: 'of what writes: refused when another version is the newest by now', names: 'versions' },
    message: { value: 'text', about: 'of what writes: why, for the history' },
    'dry-run': { about: 'of what writes: checks everything and shows what would change; 1 if it would be refused' },
    yes: { about: 'apply, gc: without being asked' },
  },
  examples: [
    'config print gateway',
    'config set gateway.rateLimit.maxRequests 500',
    'config apply config.yaml --dry-run',
    'config history',
    'config diff',
  ],
});
