import assert from 'node:assert/strict';

/** The error of a refused REST request, after its problem members are checked. */
export async function readError(response: Response): Promise<{ error: unknown }> {
  const { error, ...problem } = (await response.json()) as Record<string, unknown>;
  const { type, status, detail, requestId } = problem;
  assert.deepEqual([type, status, detail], ['about:blank', response.status, error]);
  assert.equal(requestId, response.headers.get('x-request-id'));
  assert.ok(typeof problem['title'] === 'string' && typeof problem['code'] === 'string', JSON.stringify(problem));
  return { error };
}
