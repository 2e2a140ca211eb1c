export { secrets } from './service.ts';
