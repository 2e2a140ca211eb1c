import { group } from '../../arguments/command-group.ts';
import { changeKey, foldVersions, goBack } from './config-changes.ts';
import { applyDocument, checkDocument, patchDocument } from './config-documents.ts';
import { showDiff, showHistory, showOrigins, showSchema, showValue } from './config-views.ts';

const WRITE = ['base', 'message', 'dry-run'];

export const config = group({
  name: 'config',
  about:
    'Shows, changes and rolls back the configuration of a running server. A change takes effect on all replicas within a second, without a restart.',
  verbs: {
    get: {
      takes: '[key]',
      about: 'shows the effective configuration, a section, or one key such as gateway.maxBatchSize',
      names: ['settings'],
      flags: ['raw'],
      run: showValue,
    },
    set: {
      takes: '<key> <value>',
      about: 'sets one key; a value is JSON if it parses as JSON, else a string; null resets the key',
      names: ['settings', []],
      flags: WRITE,
      run: changeKey,
    },
    print: {
      takes: '[section]',
      about: 'prints every key with its value and the source of the value',
      names: ['settings'],
      run: showOrigins,
    },
    schema: { takes: '[section]', about: 'prints the JSON Schema of a section or of all sections', names: ['settings'], run: showSchema },
    validate: { takes: '<file>', about: 'validates a file locally, without a server', names: ['files'], run: checkDocument },
    apply: {
      takes: '<file>',
      about: 'replaces the stored configuration with a file, after showing the difference',
      names: ['files'],
      flags: [...WRITE, 'yes'],
      run: applyDocument,
    },
    patch: { takes: '<file>', about: 'merges a file into the stored configuration', names: ['files'], flags: WRITE, run: patchDocument },
    history: {
      about: 'lists the versions, newest first, and the replicas that have not applied the newest',
      flags: ['limit'],
      run: showHistory,
    },
    diff: {
      takes: '[version]',
      about: 'shows the changes since a version; default: the changes of the newest version',
      names: ['versions'],
      run: showDiff,
    },
    rollback: {
      takes: '[version]',
      about: 'restores an earlier version as the newest one',
      names: ['versions'],
      flags: [...WRITE, 'offline'],
      run: goBack,
    },
    gc: { about: 'merges all versions before the newest 50 into one', flags: ['dry-run', 'yes'], run: foldVersions },
  },
  flags: {
    raw: { about: 'get: shows a section with its secrets; the access is recorded in the audit log' },
    limit: { value: 'n', about: 'history: number of versions; default: 10' },
    base: { value: 'version', about: 'writes: fails if this version is no longer the newest', names: 'versions' },
    message: { value: 'text', about: 'writes: reason for the version history' },
    'dry-run': { about: 'writes: validates and shows the difference without writing; exit code 1 if invalid' },
    yes: { about: 'apply, gc: skips the confirmation' },
    offline: { about: 'rollback: changes the data of a stopped server; default version: the one before the newest' },
  },
  examples: [
    'config print gateway',
    'config set gateway.rateLimit.maxRequests 500',
    'config apply config.yaml --dry-run',
    'config history',
    'config diff',
  ],
});
