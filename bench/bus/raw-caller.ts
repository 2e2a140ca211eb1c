import { connectHop, createRequest } from '../baselines/hop.ts';
import { drive } from './drive.ts';

// The least that a request over NATS can be: bytes there and bytes back, for nobody, with no deadline and no errors.
const request = createRequest(await connectHop());
drive(() => new Promise((resolve) => request('bench.raw', '{"name":"NAME"}', resolve)));
