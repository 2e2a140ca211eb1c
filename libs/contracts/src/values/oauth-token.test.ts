import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOauthTokenName, oauthTokenName } from './oauth-token.ts';

test('the sign-in of a profile is a secret whose name env.set takes, whatever providers and profiles are called', () => {
  assert.equal(oauthTokenName('anthropic', 'work'), 'ANTHROPIC_WORK_OAUTH_TOKEN');
  assert.equal(oauthTokenName('my-corp.eu', 'jane@example.org'), 'MY_CORP_EU_JANE_EXAMPLE_ORG_OAUTH_TOKEN');
  assert.ok(isOauthTokenName(oauthTokenName('openai', 'a')));
  assert.ok(!isOauthTokenName('OPENAI_API_KEY'));
});
