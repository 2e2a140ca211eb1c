import { connectHop, createRequest } from '../baselines/hop.ts';
import { drive } from './drive.ts';

// The minimal request over NATS: bytes in both directions, without principal, deadline or errors.
const request = createRequest(await connectHop());
drive(() => new Promise((resolve) => request('bench.raw', '{"name":"NAME"}', resolve)));
