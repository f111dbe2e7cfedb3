/** Ends the session of a page that asks nothing; without scripts its button does. */
export const logoutScript = `document.querySelector('button[name="logout"]').click();\n`;
