import { testCommandsOf } from './documented-commands.ts';

testCommandsOf((file) => file !== 'README.md');
