import { demo, serve } from './embedded.ts';
import { documentedInterface } from './suite.ts';

documentedInterface('at the demo', demo);
documentedInterface('at atrium serve with nothing set but its address', () => serve());
documentedInterface('at atrium serve, ID token flow', () => serve({ flow: 'id_token' }));
documentedInterface('below a base path', () => serve({ basePath: '/console' }));
documentedInterface('below a base path, ID token flow', () => serve({ basePath: '/console', flow: 'id_token' }));
