// A field above the index that shows only the sections with all of its words: titles, headings, names in the tutorial's code.
"use strict";
{
  const field = document.createElement("input"), items = [...document.querySelectorAll("li[data-words]")];
  const label = document.documentElement.lang === "ko" ? "절, 제목, 클래스 이름으로 찾기" : "find a section, heading or class";
  Object.assign(field, {type: "search", placeholder: label, ariaLabel: label, style: "width: min(420px, 100%); padding: 6px"});
  const texts = items.map((item) => `${item.textContent} ${item.dataset.words}`.toLowerCase());
  field.oninput = () => {
    const words = field.value.toLowerCase().split(/\s+/);
    items.forEach((item, i) => { item.hidden = !words.every((word) => texts[i].includes(word)); });
    for (const section of document.querySelectorAll("section")) section.hidden = !section.querySelector("li:not([hidden])");
  };
  document.querySelector("h1").after(field);
}
