import { itTakesHostileEvents } from './hostile-events-suite.ts';

describe('hostile events in atrium audit-store', () => itTakesHostileEvents());
