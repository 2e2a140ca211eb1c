export { scheduler } from './service.ts';
