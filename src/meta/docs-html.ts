/** HTML of the page. All addresses are relative to `/docs`, so that it works below any base path and behind any proxy. */
export const pageHtml = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Atrium API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/swagger-ui-bundle.js" defer></script>
<script src="docs/page.js" type="module"></script>
</head>
<body>
<main id="operations"><p id="state" role="status">The description is being read.</p></main>
<noscript><p>This page needs scripts. The same as text: <a href="openapi/v3">openapi/v3</a>.</p></noscript>
</body>
</html>
`;

export const pageStyle = `body{margin:0}
#state,noscript p{margin:2rem;font:1rem/1.5 system-ui,sans-serif}
html.dark-mode,html.dark-mode body{background:#1c2022;color:#e4e6e6}
html.dark-mode .swagger-ui .opblock-tag svg{fill:#e4e6e6}
.swagger-ui .scheme-container{box-shadow:none}
.swagger-ui :focus-visible{outline:3px solid #4990e2;outline-offset:2px}
`;

/**
 * Script of the page. The description names the public address, but the page sends requests to its own origin, because its policy allows
 * no other. Pasted credentials are not stored.
 */
export const pageScript = `const base = new URL('.', document.baseURI).href.replace(/[/]$/, '');
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);

const answer = await fetch(base + '/openapi/v3', { headers: { Accept: 'application/json' } });
if (answer.ok) {
  const description = await answer.json();
  SwaggerUIBundle({
    spec: { ...description, servers: [{ url: base }] },
    domNode: document.getElementById('operations'),
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    filter: true,
    persistAuthorization: false,
    validatorUrl: null,
  });
} else document.getElementById('state').textContent = 'The description could not be read: ' + answer.status;
`;
