
for (const svg of document.querySelectorAll(".card:not(.touch) > svg")) {
  const link = document.createElement("a");
  link.className = "save";
  link.textContent = "SVG";
  link.download = "drawing.svg";
  link.href = "#";
  link.onclick = () => {
    const copy = svg.cloneNode(true), style = document.createElementNS(svg.namespaceURI, "style");
    style.textContent = document.getElementById("drawing").textContent;
    copy.prepend(style);
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], {type: "image/svg+xml"}));
  };
  svg.after(link);
}
