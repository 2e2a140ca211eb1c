import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicMethods, unserved, type Callable, type MethodName } from '@switchyard/contracts';
import { callAll } from './call-all.ts';
import { onEachProfile } from '../e2e/profiles.ts';

const paramSets: readonly (readonly [name: string, paramsOf: (callable: Callable) => unknown])[] = [
  ['no params', () => ({})],
  ['the params of its example', ({ spec }) => ('examples' in spec ? spec.examples[0]?.params : {})],
];

/** Restarts the answering process; it has tests of its own. */
const RESTART = 'gateway.restart';

onEachProfile('declared and served methods', (product) => {
  for (const [name, getParams] of paramSets) {
    test(`every method, called with ${name}: the list of unserved methods is exact`, async () => {
      const callables = [...publicMethods.values()].filter((one) => one.name !== RESTART);
      const calls = callables.map((callable) => ({ method: callable.name as MethodName, params: getParams(callable) }));
      const answers = await callAll({ product }, calls);
      // UNAVAILABLE alone may be the answer of a handler whose dependency is not running.
      const missing = calls.filter((_, at) => answers[at]?.error?.data?.['reason'] === 'NO_RESPONDERS');
      assert.deepEqual(missing.map(({ method }) => method).sort(), [...unserved].sort());
      for (const [at, { method }] of calls.entries()) {
        if (!unserved.has(method)) continue;
        const { error } = answers[at] ?? assert.fail(method);
        assert.equal(error?.code, -32603, method);
        assert.ok(
          error.message.includes(publicMethods.get(method)?.service ?? '?'),
          `${method}: ${error.message} does not name its service`,
        );
      }
    });
  }
});
