import type { Page, Route } from 'playwright-core';

interface RpcRequest {
  id: number;
  method: string;
}

/** Answers of the API that the page reads: calls, and the audit log. The event stream and the page itself are not among them. */
const READS = ['**/rpc', '**/api/audit*'];

/** All calls of the page stay without an answer. */
export async function holdCalls(page: Page): Promise<void> {
  for (const pattern of READS) await page.route(pattern, () => undefined);
}

/** Calls of the page fail with an error that another attempt may mend: those of the methods, or all of them. */
export async function failCalls(page: Page, methods?: ReadonlySet<string>): Promise<void> {
  await page.route('**/rpc', async (route) => {
    const { id, method } = route.request().postDataJSON() as RpcRequest;
    if (methods?.has(method) === false) return route.fallback();
    const data = { code: 'UNAVAILABLE', reason: 'NO_RESPONDERS', requestId: 'r1', retryable: true };
    return route.fulfill({ json: { jsonrpc: '2.0', id, error: { code: -32603, message: 'The service does not answer.', data } } });
  });
  if (methods === undefined) await page.route('**/api/audit*', (route) => route.fulfill({ status: 503, body: '' }));
}

/** The page is told that one service has this state, or all of them. */
export async function setServices(page: Page, state: 'absent' | 'down', only?: string): Promise<void> {
  await page.route('**/readyz', async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { services?: { service: string }[] };
    const services = body.services?.map((one) => (only === undefined || one.service === only ? { ...one, state, replicas: [] } : one));
    await route.fulfill({ response, json: { ...body, services } });
  });
}

/** The page is told that this version does not serve a method. */
export async function setUnserved(page: Page, name: string): Promise<void> {
  await page.route('**/openrpc.json', async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { methods: { name: string }[] };
    const methods = body.methods.map((method) => (method.name === name ? { ...method, 'x-served': false } : method));
    await route.fulfill({ response, json: { ...body, methods } });
  });
}

/** Changes the result of a method. */
export async function changeResult(page: Page, method: string, change: (result: object) => object): Promise<void> {
  await page.route('**/rpc', (route) => (readMethod(route) === method ? fulfillChanged(route, change) : route.fallback()));
}

/** Delays the calls of a method. */
export async function delayMethod(page: Page, method: string, ms: number): Promise<void> {
  await page.route('**/rpc', async (route) => {
    if (readMethod(route) === method) await page.waitForTimeout(ms);
    await route.fallback();
  });
}

/** Changes the results of all methods. */
export async function changeResults(page: Page, change: (result: object) => object): Promise<void> {
  await page.route('**/rpc', (route) => fulfillChanged(route, change));
}

function readMethod(route: Route): string {
  return (route.request().postDataJSON() as RpcRequest).method;
}

async function fulfillChanged(route: Route, change: (result: object) => object): Promise<void> {
  const response = await route.fetch();
  const body = (await response.json()) as { result?: object };
  await route.fulfill({ response, json: body.result === undefined ? body : { ...body, result: change(body.result) } });
}
